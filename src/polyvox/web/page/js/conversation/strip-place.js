// Where the strip will stand; what it shows is fetched when the page stands still.
import { lazy } from "../lazy.js";

export const Strip = lazy(() => import("./strip.js").then((module) => module.Strip));
