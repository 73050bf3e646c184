-- One set of tables for SQLite and PostgreSQL. {blob} and {real} are the only words that differ.
-- The user id leads every key and every index. Times are UTC microseconds. JSON is TEXT.

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    timezone TEXT,
    created_at BIGINT NOT NULL
);

CREATE TABLE advisors (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    prompt TEXT,
    model TEXT,
    color TEXT NOT NULL,
    voice TEXT,
    active INTEGER NOT NULL,
    params TEXT NOT NULL,
    position INTEGER NOT NULL,
    version_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX advisors_slug ON advisors (user_id, slug) WHERE removed_at IS NULL;

CREATE TABLE prompt_versions (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    advisor_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    field TEXT NOT NULL,
    text TEXT NOT NULL,
    hash TEXT NOT NULL,
    parent_id TEXT,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX prompt_versions_number ON prompt_versions (user_id, advisor_id, number);

CREATE TABLE councils (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    recipe TEXT NOT NULL,
    advisors TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX councils_slug ON councils (user_id, slug);

CREATE TABLE recipes (
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE conversations (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    recipe TEXT NOT NULL,
    council_id TEXT,
    advisors TEXT,
    head_id TEXT,
    last_number BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX conversations_recent ON conversations (user_id, updated_at);

CREATE TABLE branches (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    parent_id TEXT,
    fork_depth INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX branches_conversation ON branches (user_id, conversation_id);

CREATE TABLE sessions (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    last_user_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX sessions_conversation ON sessions (user_id, conversation_id, started_at);

CREATE TABLE turns (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    session_id TEXT,
    parent_id TEXT,
    branch_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    content TEXT NOT NULL,
    said_at BIGINT,
    asked TEXT NOT NULL,
    state TEXT NOT NULL,
    excluded INTEGER NOT NULL,
    idempotency_key TEXT,
    body_hash TEXT NOT NULL,
    runner_id TEXT,
    created_at BIGINT NOT NULL,
    completed_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX turns_message ON turns (user_id, message_id);
CREATE UNIQUE INDEX turns_path ON turns (user_id, conversation_id, branch_id, depth);
CREATE UNIQUE INDEX turns_idempotency ON turns (user_id, conversation_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX turns_open ON turns (user_id, conversation_id) WHERE state <> 'completed';

CREATE TABLE answers (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    branch_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    advisor_id TEXT NOT NULL,
    advisor_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    round INTEGER NOT NULL,
    position INTEGER NOT NULL,
    version INTEGER NOT NULL,
    replaces_id TEXT,
    current INTEGER NOT NULL,
    excluded INTEGER NOT NULL,
    state TEXT NOT NULL,
    text TEXT NOT NULL,
    thinking TEXT NOT NULL,
    marks {blob},
    model TEXT NOT NULL,
    prompt_version_id TEXT,
    failure TEXT,
    points TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    reasoning_tokens BIGINT,
    cached_tokens BIGINT,
    cost BIGINT,
    estimated INTEGER,
    attempts TEXT NOT NULL,
    runner_id TEXT,
    first_number BIGINT NOT NULL,
    last_number BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    first_at BIGINT,
    ended_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX answers_turn ON answers (user_id, turn_id);
CREATE INDEX answers_thread ON answers (user_id, conversation_id, advisor_id, branch_id, depth);
CREATE INDEX answers_numbers ON answers (user_id, conversation_id, last_number);
CREATE INDEX answers_open ON answers (user_id, runner_id) WHERE state IN ('pending', 'streaming');

CREATE TABLE events (
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    turn_id TEXT,
    answer_id TEXT,
    data TEXT NOT NULL,
    start INTEGER NOT NULL,
    PRIMARY KEY (user_id, conversation_id, number)
);
CREATE INDEX events_answer ON events (user_id, answer_id, number);

-- A text is kept once for each conversation that sends it, so that deleting a conversation
-- deletes its texts without a look at the receipts of all others.
CREATE TABLE spans (
    user_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (user_id, hash, conversation_id)
);
CREATE INDEX spans_conversation ON spans (user_id, conversation_id);

CREATE TABLE receipts (
    user_id TEXT NOT NULL,
    answer_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    base_id TEXT,
    data TEXT NOT NULL,
    PRIMARY KEY (user_id, answer_id)
);
CREATE INDEX receipts_conversation ON receipts (user_id, conversation_id);

CREATE TABLE ratios (
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    reported {real} NOT NULL,
    estimated {real} NOT NULL,
    samples INTEGER NOT NULL,
    PRIMARY KEY (user_id, model)
);

CREATE TABLE usage (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    day TEXT NOT NULL,
    at BIGINT NOT NULL,
    conversation_id TEXT,
    answer_id TEXT,
    advisor_id TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost BIGINT,
    estimated INTEGER NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX usage_day ON usage (user_id, day);
CREATE INDEX usage_conversation ON usage (user_id, conversation_id);
CREATE INDEX usage_answer ON usage (user_id, answer_id);

CREATE TABLE runners (
    id TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
