-- What is read by session, by mark or by what is left to do costs what is found, however much is
-- stored beside it.
CREATE INDEX turns_session ON turns (user_id, session_id, created_at);
CREATE INDEX facts_pinned ON facts (user_id, part, said_at, id) WHERE pinned = 1;
CREATE INDEX facts_excluded ON facts (user_id, part, said_at, id) WHERE excluded = 1;
CREATE INDEX episodes_pinned ON episodes (user_id, part, at, doc) WHERE pinned = 1;
DROP INDEX episodes_excluded;
CREATE INDEX episodes_excluded ON episodes (user_id, part, at, doc) WHERE excluded = 1;
CREATE INDEX jobs_left ON jobs (user_id, due_at, id) WHERE state <> 'done';
CREATE INDEX jobs_subject ON jobs (user_id, subject);

-- Handlers store what they have done themselves.
DROP TABLE job_steps;
