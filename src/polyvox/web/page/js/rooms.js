// The rooms beside the conversation. A room is a path, a name, and a module that is loaded when it
// is first entered; its default export is a component that is given `parts`, the rest of the path.
// `key` is the letter after g that leads there, where it is not the first of the path.
export const ROOMS = [
  { path: "advisors", name: "Advisors", load: () => import("./rooms/advisors.js") },
  { path: "assertions", name: "Assertions", key: "t", load: () => import("./rooms/assertions.js") },
  { path: "recipes", name: "Recipes", load: () => import("./rooms/recipes.js") },
  { path: "memory", name: "Memory", load: () => import("./rooms/memory.js") },
  { path: "sessions", name: "Sessions", key: "h", load: () => import("./rooms/sessions.js") },
  { path: "usage", name: "Usage", load: () => import("./rooms/usage.js") },
  { path: "settings", name: "Settings", load: () => import("./rooms/settings.js") },
  { path: "search", name: "Search", load: () => import("./rooms/search.js"), hidden: true },
];
