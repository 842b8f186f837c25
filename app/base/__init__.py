"""What every layer may use, and what uses no layer: errors, geometry, clock, paths, ids, clipping, logs."""
