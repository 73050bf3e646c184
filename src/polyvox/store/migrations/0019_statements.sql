-- One store for what was noted of a person: facts, loops, instructions and profile lines are kinds
-- of statement. Nothing is overwritten: links say what stands in place of what, and what is over;
-- the current view is computed. `slot` names the matter: of two statements the newer holds.
CREATE TABLE statements (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    slot TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    text TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    about_from BIGINT,
    about_to BIGINT,
    about_precision TEXT,
    source TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    session_id TEXT,
    message_index INTEGER,
    role TEXT,
    quote TEXT,
    advisor_id TEXT,
    cloud INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    excluded INTEGER NOT NULL,
    plan TEXT,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX statements_id ON statements (user_id, id);
CREATE INDEX statements_slot ON statements (user_id, slot);
CREATE INDEX statements_kind ON statements (user_id, part, kind, said_at, id);
CREATE INDEX statements_session ON statements (user_id, part, session_id);
CREATE INDEX statements_pinned ON statements (user_id, part, kind, said_at, id) WHERE pinned = 1;
CREATE INDEX statements_excluded ON statements (user_id, part, kind, said_at, id)
    WHERE excluded = 1;
CREATE TABLE statement_links (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target_id TEXT NOT NULL,
    by_id TEXT,
    said_at BIGINT NOT NULL,
    session_id TEXT,
    message_index INTEGER,
    quote TEXT,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX statement_links_target ON statement_links (user_id, target_id);
CREATE INDEX statement_links_by ON statement_links (user_id, by_id);
CREATE INDEX statement_links_session ON statement_links (user_id, part, session_id);

-- Statements that were deleted, by a hash: the same words are not noted again.
CREATE TABLE forgotten_statements (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (user_id, part, hash)
);

-- Messages that speak of danger or grief: nothing is noted from them or quoted of them.
CREATE TABLE hard_messages (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    session_id TEXT NOT NULL,
    message_index INTEGER NOT NULL,
    PRIMARY KEY (user_id, part, session_id, message_index)
);

-- What each answer was told from memory, block by block: ids of statements and of messages
-- (SESSION#INDEX).
CREATE TABLE told_sources (
    user_id TEXT NOT NULL,
    answer_id TEXT NOT NULL,
    block TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (user_id, answer_id, block, source)
);
CREATE INDEX told_sources_source ON told_sources (user_id, source);

-- Sessions that were held with models on this machine alone: online models read them only if the
-- person agrees.
ALTER TABLE transcripts ADD COLUMN held_here INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_analyses ADD COLUMN cloud INTEGER NOT NULL DEFAULT 1;
