"""Commands: started through the person's shell, followed, waited for, given input and ended with all children."""
