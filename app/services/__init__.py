"""Services that need no screen: files, processes, memory, schedules and more. They know no protocol and no model."""
