//! One run: planners, retries, conditions, fan-out, hooks, timeouts.
