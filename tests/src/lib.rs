//! What crosses rooms: lockstep against the unprobed program, whole programs.
