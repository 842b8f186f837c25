"""Small apps that the model writes: each is a folder, shown in a window that has no access to anything else."""
