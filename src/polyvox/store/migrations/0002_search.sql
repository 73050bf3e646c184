-- Full-text search over messages, answers and titles. The text itself stays where it is; here are
-- only its words, folded (see polyvox.store.folding). An index of words cannot be led by the user;
-- each search joins it with the user's own passages, and on PostgreSQL the owner is one of the words.

-- sqlite:
CREATE TABLE passages (
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    doc INTEGER NOT NULL,
    PRIMARY KEY (user_id, kind, id)
);
CREATE UNIQUE INDEX passages_doc ON passages (user_id, doc);
CREATE VIRTUAL TABLE passage_words USING fts5 (
    words, tokenize = "porter unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);

-- postgresql:
CREATE TEXT SEARCH DICTIONARY polyvox_stem (TEMPLATE = pg_catalog.snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION polyvox_words (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION polyvox_words
    ALTER MAPPING FOR asciiword, word WITH polyvox_stem;
CREATE TABLE passages (
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (user_id, kind, id)
);
CREATE INDEX passages_words ON passages USING gin (words);

-- both:
CREATE INDEX passages_conversation ON passages (user_id, conversation_id);
