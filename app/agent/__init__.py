"""The agent: session, loop, turn, history, prompt, policy, budget. It knows no tool by name."""
