-- Durable background work. A job is named by what it does and to what (`ingest:SESSION`), so that
-- wanting it twice is wanting it once; it holds ids, never texts. A step that was taken keeps its
-- result, so that a job that is taken up again goes on behind it.

CREATE TABLE jobs (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    runner_id TEXT,
    failure TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX jobs_due ON jobs (user_id, due_at) WHERE state = 'pending';
CREATE INDEX jobs_running ON jobs (user_id, runner_id) WHERE state = 'running';

CREATE TABLE job_steps (
    user_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    name TEXT NOT NULL,
    result TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (user_id, job_id, name)
);

-- Sessions that nobody ended: what the sweep looks for, whoever they belong to.
ALTER TABLE sessions ADD COLUMN ended_by TEXT;
CREATE INDEX sessions_open ON sessions (user_id, last_user_at) WHERE ended_at IS NULL;
