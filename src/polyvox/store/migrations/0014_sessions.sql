-- The newest sessions of a user, however many there are.
CREATE INDEX sessions_started ON sessions (user_id, started_at, id);
