-- A run that looks for a better prompt. `plan` names the assertions by id, version and context
-- (never texts), so that a run that is taken up again does the same; `results` is what was found.
-- `target` is `prompt`, or `phase:NAME` of the recipe.
CREATE TABLE optimisations (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    advisor_id TEXT NOT NULL,
    advisor_name TEXT NOT NULL,
    target TEXT NOT NULL,
    recipe TEXT NOT NULL,
    engine TEXT NOT NULL,
    judge TEXT NOT NULL,
    optimizer TEXT NOT NULL,
    plan TEXT NOT NULL,
    estimate TEXT NOT NULL,
    warnings TEXT NOT NULL,
    budget BIGINT,
    base_version TEXT NOT NULL,
    base_text TEXT NOT NULL,
    state TEXT NOT NULL,
    stage TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    iterations INTEGER NOT NULL,
    best INTEGER NOT NULL,
    best_rate DOUBLE PRECISION,
    base_rate DOUBLE PRECISION,
    calls INTEGER NOT NULL,
    spent BIGINT NOT NULL,
    unpriced INTEGER NOT NULL,
    verdict TEXT,
    message TEXT NOT NULL,
    results TEXT,
    decision TEXT NOT NULL,
    decided_at BIGINT,
    final_text TEXT,
    final_version TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX optimisations_advisor ON optimisations (user_id, advisor_id, created_at);
CREATE INDEX optimisations_made ON optimisations (user_id, created_at);

-- Every rewritten prompt of a run and what became of it. `ask_hash` names what the rewriter was
-- asked: the same question in a run that is taken up again has this answer, and is not paid twice.
CREATE TABLE attempts (
    user_id TEXT NOT NULL,
    optimisation_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    ask_hash TEXT NOT NULL,
    text TEXT,
    state TEXT NOT NULL,
    note TEXT NOT NULL,
    rate DOUBLE PRECISION,
    scores TEXT NOT NULL,
    spent BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, optimisation_id, number)
);
