//! Ids, resources, values, specs, phases, events, effects, error codes and limits.
