"""Services that need no screen: files, processes, memory, schedules, … They know no protocol and no model."""
