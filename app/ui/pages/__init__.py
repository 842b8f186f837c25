"""The bubble's pages: past conversations, stored things, news, and usage."""
