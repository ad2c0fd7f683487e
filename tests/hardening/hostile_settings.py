"""The word that a hostile site puts wherever a path, a name or a size is expected."""

#: Each command in it would leave a file in the folder where it runs.
WORD = "a b';touch pwned;$(touch pwned)`touch pwned`\"&touch pwned|#*"
