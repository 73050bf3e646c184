-- A loop that is pinned is so in each of its sightings: whichever of them goes, the others keep it.
ALTER TABLE loop_sightings ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX loop_sightings_pinned ON loop_sightings (user_id, part) WHERE pinned = 1;
