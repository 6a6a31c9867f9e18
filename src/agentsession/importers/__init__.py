"""Sessions made from what other agents have stored, one subpackage for each agent."""
