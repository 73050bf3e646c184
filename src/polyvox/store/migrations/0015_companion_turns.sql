-- The state of a person with a persona before a turn and after it: a turn that is written again
-- starts where it started, and one that takes another's place where that one did. The newest one is
-- in `companion_states`, which outlives conversations.
CREATE TABLE companion_turns (
    user_id TEXT NOT NULL,
    persona_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    was TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (user_id, persona_id, turn_id)
);
CREATE INDEX companion_turns_conversation ON companion_turns (user_id, conversation_id);
INSERT INTO companion_turns (user_id, persona_id, turn_id, conversation_id, was, state)
    SELECT s.user_id, s.persona_id, s.turn_id, t.conversation_id, s.was, s.state
    FROM companion_states s JOIN turns t ON t.user_id = s.user_id AND t.id = s.turn_id;
ALTER TABLE companion_states DROP COLUMN was;

-- What happened in a turn and counts for the rest of its session on its branch: `reinjected` (the
-- handover was brought back) or `corrected` (the person said that it is wrong).
CREATE TABLE companion_marks (
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    PRIMARY KEY (user_id, session_id, turn_id, mark)
);
CREATE INDEX companion_marks_conversation ON companion_marks (user_id, conversation_id);
INSERT INTO companion_marks (user_id, session_id, turn_id, mark, conversation_id)
    SELECT user_id, id, reinjected_in, 'reinjected', conversation_id
    FROM companion_sessions WHERE reinjected_in IS NOT NULL;
INSERT INTO companion_marks (user_id, session_id, turn_id, mark, conversation_id)
    SELECT user_id, id, corrected_in, 'corrected', conversation_id
    FROM companion_sessions WHERE corrected_in IS NOT NULL;
ALTER TABLE companion_sessions DROP COLUMN reinjected_in;
ALTER TABLE companion_sessions DROP COLUMN corrected_in;

-- How often the packets of a person were dropped: one that was read before is not kept after it.
CREATE TABLE companion_drops (
    user_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (user_id)
);
