"""Commands: started through the person's shell, followed, waited for, fed and ended with all their children."""
