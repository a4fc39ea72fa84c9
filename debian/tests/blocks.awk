# The fenced blocks of a Markdown file in one language: all of them, or with -v nth=N that one.
/^```/ {
    if (inside) { inside = 0; next }
    inside = 1; wanted = 0
    if ($0 == "```" language) { count++; wanted = nth == 0 || nth == count }
    next
}
inside && wanted { print }
