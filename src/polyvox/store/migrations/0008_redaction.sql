-- A message that was forgotten stays in its place as a mark; an answer that repeated it has marks in
-- place of the passages.
ALTER TABLE turns ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE answers ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0;

-- Which message or answer of a conversation an episode was made from ("u" and a turn's id, "a" and
-- an answer's): whatever is excluded or written again later, each keeps the index that it got.
CREATE TABLE episode_sources (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    session_id TEXT NOT NULL,
    message_index INTEGER NOT NULL,
    ref TEXT NOT NULL,
    PRIMARY KEY (user_id, part, session_id, message_index)
);
CREATE UNIQUE INDEX episode_sources_ref ON episode_sources (user_id, part, ref);

-- What left a bookends window, in short: of one advisor's thread on one branch. `covers` are the
-- references of exactly the messages it tells of, those between the turns `after_id` and
-- `before_id`. It goes in the commit that changes any of them.
CREATE TABLE running_summaries (
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    branch_id TEXT NOT NULL,
    advisor_id TEXT NOT NULL,
    text TEXT NOT NULL,
    covers TEXT NOT NULL,
    after_id TEXT NOT NULL,
    before_id TEXT NOT NULL,
    model TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, conversation_id, branch_id, advisor_id)
);

-- What is kept out of recall, which is little: whatever was derived from it is passed over.
CREATE INDEX episodes_excluded ON episodes (user_id, part) WHERE excluded = 1;
