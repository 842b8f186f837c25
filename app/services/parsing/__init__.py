"""Files and pages that others made are taken apart in a child process with limits: what breaks there breaks little."""
