-- The phase that an assertion is meant for (NULL: the one of each context), and hashes of contexts
-- of other conversations that it is tried in besides its own (JSON).
ALTER TABLE assertions ADD COLUMN phase TEXT;
ALTER TABLE assertions ADD COLUMN contexts TEXT NOT NULL DEFAULT '[]';
