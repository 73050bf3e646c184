-- What is derived from what was said. Nothing here is overwritten by a newer statement: rows are
-- added, and the view of them is computed, so that any order of arrival gives the same one.
-- Where a row has a session and a message index, it goes when that message is forgotten.

-- Statements about something. `line` names what a statement is about and whose it is: statements
-- of one line supersede each other.
CREATE TABLE facts (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    line TEXT NOT NULL,
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
    retracts INTEGER NOT NULL,
    corrects TEXT,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX facts_line ON facts (user_id, part, line);
CREATE INDEX facts_session ON facts (user_id, part, session_id);
CREATE INDEX facts_said ON facts (user_id, part, said_at);

-- A loop each time it was spoken of, and what was said of its end. Sightings of one `topic` are one
-- loop. An ending by hand names the topic; one that was said in passing is matched by its words.
CREATE TABLE loop_sightings (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    horizon TEXT NOT NULL,
    due TEXT,
    domain TEXT NOT NULL,
    importance INTEGER NOT NULL,
    urgency INTEGER NOT NULL,
    tags TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    session_id TEXT NOT NULL,
    message_index INTEGER NOT NULL,
    quote TEXT NOT NULL,
    cloud INTEGER NOT NULL,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX loop_sightings_topic ON loop_sightings (user_id, part, topic);
CREATE INDEX loop_sightings_session ON loop_sightings (user_id, part, session_id);
CREATE INDEX loop_sightings_said ON loop_sightings (user_id, part, said_at);
CREATE TABLE loop_endings (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    topic TEXT,
    words TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    session_id TEXT,
    message_index INTEGER,
    quote TEXT,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX loop_endings_session ON loop_endings (user_id, part, session_id);
CREATE INDEX loop_endings_said ON loop_endings (user_id, part, said_at);

-- The profile, statement by statement: `field` is a place in it, `item` which one of several.
CREATE TABLE profile_entries (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    id TEXT NOT NULL,
    field TEXT NOT NULL,
    item TEXT NOT NULL,
    value TEXT NOT NULL,
    said_at BIGINT NOT NULL,
    source TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    retracts INTEGER NOT NULL,
    session_id TEXT,
    message_index INTEGER,
    quote TEXT,
    cloud INTEGER NOT NULL,
    PRIMARY KEY (user_id, part, id)
);
CREATE INDEX profile_entries_session ON profile_entries (user_id, part, session_id);
CREATE TABLE profiles (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, part)
);

-- How far each session has been worked through, batch by batch: a batch is stored together with
-- what was found in it, so none is ever worked through twice.
CREATE TABLE extractions (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    session_id TEXT NOT NULL,
    first_index INTEGER NOT NULL,
    last_index INTEGER NOT NULL,
    model TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, part, session_id, first_index)
);

-- `covers` are the ids of the messages that a summary tells of.
CREATE TABLE summaries (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    covers TEXT NOT NULL,
    model TEXT NOT NULL,
    cloud INTEGER NOT NULL,
    told_at BIGINT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, part, kind, subject)
);
CREATE INDEX summaries_told ON summaries (user_id, part, kind, told_at);
CREATE TABLE daily_analyses (
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    day TEXT NOT NULL,
    themes TEXT NOT NULL,
    scores TEXT NOT NULL,
    steering_note TEXT,
    confidence DOUBLE PRECISION NOT NULL,
    quality_flag TEXT NOT NULL,
    sessions TEXT NOT NULL,
    model TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, part, day)
);
