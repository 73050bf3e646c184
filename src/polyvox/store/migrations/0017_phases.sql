-- How many answers the limited phases last at most; NULL: as the recipe says, 0: none.
ALTER TABLE conversations ADD COLUMN phases INTEGER;
ALTER TABLE councils ADD COLUMN phases INTEGER;
