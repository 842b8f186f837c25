"""Work that needs no screen: files, processes, memory, schedules, … Knows no protocol and no model."""
