//! A broker that misbehaves when told.
