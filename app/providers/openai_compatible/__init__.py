"""Any model behind an OpenAI-compatible endpoint, through the official `openai` SDK."""
