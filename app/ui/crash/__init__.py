"""When Wisp itself fails: a report that can be sent along, and a word about it at the next start."""
