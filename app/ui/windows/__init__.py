"""The windows of the presence: where they are placed, and how they are hidden while Wisp captures or clicks."""
