-- A run over assertions. `plan` names what is asked of what (ids and hashes, never texts), so that a
-- run that is taken up again goes on where it was; `results` is what was found, once it has ended.
CREATE TABLE evaluations (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    advisor_id TEXT,
    mode TEXT NOT NULL,
    origin TEXT NOT NULL,
    answer_id TEXT,
    model TEXT NOT NULL,
    repeats INTEGER NOT NULL,
    confirm INTEGER NOT NULL,
    early INTEGER NOT NULL,
    judge TEXT NOT NULL,
    judge_hash TEXT NOT NULL,
    plan TEXT NOT NULL,
    warnings TEXT NOT NULL,
    state TEXT NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    spent BIGINT NOT NULL,
    unpriced INTEGER NOT NULL,
    message TEXT NOT NULL,
    results TEXT,
    blessed_at BIGINT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX evaluations_advisor ON evaluations (user_id, advisor_id, created_at);
CREATE INDEX evaluations_answer ON evaluations (user_id, answer_id) WHERE answer_id IS NOT NULL;
CREATE INDEX evaluations_made ON evaluations (user_id, created_at);

-- What was found out about one version of an assertion in one text. `subject` is the sample's key,
-- or the id of the stored answer. An optimisation's verdicts carry its id as their evaluation.
CREATE TABLE verdicts (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    evaluation_id TEXT NOT NULL,
    assertion_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    subject TEXT NOT NULL,
    answer_id TEXT,
    sample TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    context_hash TEXT NOT NULL,
    model TEXT NOT NULL,
    judge TEXT NOT NULL,
    judge_hash TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    reason TEXT NOT NULL,
    outcome TEXT NOT NULL,
    overruled TEXT,
    overruled_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX verdicts_once
    ON verdicts (user_id, evaluation_id, assertion_id, number, subject, repeat);
CREATE INDEX verdicts_assertion ON verdicts (user_id, assertion_id, created_at);
CREATE INDEX verdicts_answer ON verdicts (user_id, answer_id) WHERE answer_id IS NOT NULL;
CREATE INDEX verdicts_context ON verdicts (user_id, context_hash);
CREATE INDEX verdicts_overruled ON verdicts (user_id, judge) WHERE overruled IS NOT NULL;

-- What advisors answered when they were asked anew: written before anything goes on, so that
-- nothing is paid for twice. Failures are not here.
CREATE TABLE samples (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    context_hash TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    model TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX samples_run ON samples (user_id, run_id);
CREATE INDEX samples_context ON samples (user_id, context_hash);
