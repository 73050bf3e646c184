-- What a companion keeps between turns. The state of a person with a persona holds no words of
-- anybody; `was` is the state before the turn that it was last changed by, so that a turn that is
-- written again starts from where it started.
CREATE TABLE companion_states (
    user_id TEXT NOT NULL,
    persona_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    was TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, persona_id)
);

-- What memory told as a session started (`packet` is a cache, and goes whenever anything is
-- forgotten), the turn that brought the handover back, and the turn that said it was wrong.
CREATE TABLE companion_sessions (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    packet TEXT NOT NULL,
    reinjected_in TEXT,
    corrected_in TEXT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX companion_sessions_conversation ON companion_sessions (user_id, conversation_id);

-- What was decided for an answer, and why: names and numbers, never texts.
CREATE TABLE companion_traces (
    user_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    answer_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    data TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, turn_id, answer_id)
);
CREATE INDEX companion_traces_conversation ON companion_traces (user_id, conversation_id);
