/* In place of the theme's script, which Debian ships as a module: pages that are opened from a folder
 * cannot load one. Colours follow the system's setting, as the pictures do. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => { document.body.dataset.theme = dark.matches ? "dark" : "light"; };
dark.addEventListener("change", follow);
follow();
