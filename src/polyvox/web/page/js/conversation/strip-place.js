// Where the strip will stand; what it shows is fetched when the page stands still.
import { lazy } from "../lazy.js";

export const Strip = lazy(import.meta.resolve("./strip.js"), "Strip", { quiet: true });
