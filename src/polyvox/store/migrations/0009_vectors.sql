-- Vectors of what can be recalled, where an embeddings model is set (see polyvox.store.vectors).
-- `doc` is the number that the text has in the index of words. `whole` has a byte for each number
-- of a vector, so its length is no longer 1. The signs alone (`bits`) are kept apart and by shelf:
-- they are looked through first, and only what is near by them is compared as a whole. A vector is
-- as private as its text, and goes with it.

-- How to read the cosines of a model: what it gives to texts that belong together, and to texts
-- that do not.
CREATE TABLE vector_models (
    user_id TEXT NOT NULL,
    model TEXT NOT NULL,
    size INTEGER NOT NULL,
    near {real} NOT NULL,
    far {real} NOT NULL,
    spread {real} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (user_id, model)
);

-- sqlite:
CREATE TABLE vectors (
    user_id TEXT NOT NULL,
    doc BIGINT NOT NULL,
    part TEXT NOT NULL,
    mark TEXT NOT NULL,
    model TEXT NOT NULL,
    whole BLOB NOT NULL,
    length REAL NOT NULL,
    PRIMARY KEY (user_id, doc)
);
CREATE TABLE vector_bits (
    user_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    doc BIGINT NOT NULL,
    model TEXT NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (user_id, mark, doc)
) WITHOUT ROWID;

-- postgresql:
CREATE TABLE vectors (
    user_id TEXT NOT NULL,
    doc BIGINT NOT NULL,
    part TEXT NOT NULL,
    mark TEXT NOT NULL,
    model TEXT NOT NULL,
    whole SMALLINT[] NOT NULL,
    PRIMARY KEY (user_id, doc)
);
CREATE TABLE vector_bits (
    user_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    doc BIGINT NOT NULL,
    model TEXT NOT NULL,
    bits BIT VARYING NOT NULL,
    PRIMARY KEY (user_id, mark, doc)
);

-- both:
CREATE INDEX vectors_part ON vectors (user_id, part, model);

-- Wanting a job while it runs is wanting it once more.
ALTER TABLE jobs ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
