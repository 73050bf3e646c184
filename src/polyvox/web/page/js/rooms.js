// The rooms beside the conversation. A room is a path, a name, and a module that is loaded when it
// is first entered; its default export is a component that is given `parts`, the rest of the path.
// `key` is the letter after g that leads there, where it is not the first of the path.
export const ROOMS = [
  { path: "advisors", name: "Advisors", from: import.meta.resolve("./rooms/advisors.js") },
  { path: "assertions", name: "Assertions", key: "t", from: import.meta.resolve("./rooms/assertions.js") },
  { path: "recipes", name: "Recipes", from: import.meta.resolve("./rooms/recipes.js") },
  { path: "memory", name: "Memory", from: import.meta.resolve("./rooms/memory.js") },
  { path: "sessions", name: "Sessions", key: "h", from: import.meta.resolve("./rooms/sessions.js") },
  { path: "usage", name: "Usage", from: import.meta.resolve("./rooms/usage.js") },
  { path: "settings", name: "Settings", from: import.meta.resolve("./rooms/settings.js") },
  { path: "search", name: "Search", from: import.meta.resolve("./rooms/search.js"), hidden: true },
];
