-- What a session shall not be told of what is remembered: ids of items, never their texts.
ALTER TABLE companion_sessions ADD COLUMN vetoed TEXT NOT NULL DEFAULT '[]';

-- Whether the turns of a conversation look up what was said before: inherit, auto or off.
ALTER TABLE conversations ADD COLUMN recall TEXT NOT NULL DEFAULT 'inherit';
