"""What `wisp doctor` looks at: one function a check, each proving its point instead of guessing it."""
