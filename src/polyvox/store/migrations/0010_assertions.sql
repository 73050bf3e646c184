-- Assertions: how an advisor should answer. The id stays for ever; what an assertion says lives in
-- its versions, which are never changed. Where it was drawn from is kept with it, so that it works
-- on when the conversation is gone. `words` is what a search looks through.
CREATE TABLE assertions (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    advisor_id TEXT NOT NULL,
    advisor_name TEXT NOT NULL,
    number INTEGER NOT NULL,
    tags TEXT NOT NULL,
    active INTEGER NOT NULL,
    source_answer TEXT,
    source_conversation TEXT NOT NULL,
    source_turn TEXT NOT NULL,
    source_input TEXT NOT NULL,
    source_text TEXT NOT NULL,
    context_hash TEXT NOT NULL,
    user_input TEXT,
    words TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    removed_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX assertions_advisor ON assertions (user_id, advisor_id, created_at, id);
CREATE INDEX assertions_answer ON assertions (user_id, source_answer);
CREATE INDEX assertions_conversation ON assertions (user_id, source_conversation);
CREATE INDEX assertions_context ON assertions (user_id, context_hash);

CREATE TABLE assertion_versions (
    user_id TEXT NOT NULL,
    assertion_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    args TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, assertion_id, number)
);

-- What an advisor had been sent, whole, named by the hash of its JSON. A context in which something
-- was redacted keeps its name.
CREATE TABLE contexts (
    user_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    data TEXT NOT NULL,
    redacted INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Runs that another program had made over an answer, as it told them: history to look at.
CREATE TABLE past_runs (
    user_id TEXT NOT NULL,
    answer_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at BIGINT,
    data TEXT NOT NULL,
    PRIMARY KEY (user_id, answer_id, kind, id)
);
