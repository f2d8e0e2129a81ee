"""Running requests: executor, progress, cancel, estimate, device choice."""
