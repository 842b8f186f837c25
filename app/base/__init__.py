"""What every layer may use and what uses none of them: errors, geometry, clock, paths, ids, clipping, logs."""
