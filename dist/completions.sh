#!/bin/sh
# completions.sh SHELL BUILD: print the completions of all programs for bash, zsh or fish, made of
# what `-h` of each program in BUILD says, and so of its table of options. What an option's
# argument is, the word that stands for it says: FILE, METHOD, ...
set -eu
shell=$1 build=$2
case $shell in
bash | zsh | fish) ;;
*)
	echo "usage: sh dist/completions.sh bash|zsh|fish BUILD" >&2
	exit 2
	;;
esac

# Lines "program<TAB>letter<TAB>name<TAB>argument<TAB>help" of one program's options.
options()
{
	"$build/$1" -h | awk -v program="$1" '
	/^ +-/ {
		if (match($0, /[^ ]  +[^ ]/)) {		# in columns
			left = substr($0, 1, RSTART)
			help = substr($0, RSTART + RLENGTH - 1)
		} else {				# the name was too long
			left = $1 " " $2
			help = substr($0, index($0, left) + length(left) + 1)
		}
		letter = name = argument = ""
		n = split(left, words, /[ ,]+/)
		for (i = 1; i <= n; i++) {
			if (words[i] ~ /^--/) name = substr(words[i], 3)
			else if (words[i] ~ /^-/) letter = substr(words[i], 2)
			else if (words[i] != "") argument = words[i]
		}
		gsub(/\t/, " ", help)
		printf "%s\t%s\t%s\t%s\t%s\n", program, letter, name, argument, help
	}'
}

programs=$("$build/ss" --list)
methods=$("$build/ss" --version | sed -n 's/^methods: //p')
for program in $programs; do
	options "$program"
done | awk -v shell="$shell" -v programs="$(echo $programs)" -v methods="$methods" -v quote="'" '
BEGIN { FS = "\t" }

function quoted(text)
{
	gsub(quote, quote "\\" quote quote, text)
	return quote text quote
}

# The words that may stand for an argument; "@" and a kind for those that the shell finds.
function words_of(argument)
{
	if (argument == "METHOD") return methods
	if (argument == "MODE") return "tcp_only tcp_and_udp udp_only"
	if (argument == "FILE") return "@file"
	if (argument == "DIRECTORY") return "@directory"
	if (argument == "PROGRAM") return "@command"
	if (argument == "USER") return "@user"
	if (argument == "INTERFACE") return "@interface"
	return "@none"
}

# Those that are in this build.
function of_these(names,    i, n, name, there)
{
	n = split(names, name, " ")
	for (i = 1; i <= n; i++)
		if (index(" " programs " ", " ss-" name[i] " "))
			there = there (there ? " " : "") name[i]
	return there
}

# What stands without an option, as the first word of a program.
function operands(program)
{
	if (program == "ss-key") return methods
	if (program == "ss-check") return of_these("local server tunnel redir manager")
	if (program == "ss-ctl") return "add remove add_user remove_user list ping stats watch"
	if (program == "ss-acl") return "@file"
	return "@none"
}

{
	count++
	of[count] = $1; letter[count] = $2; name[count] = $3; argument[count] = $4; help[count] = $5
}

function bash_words(words)
{
	if (words == "@file") return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))"
	if (words == "@directory") return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))"
	if (words == "@command") return "COMPREPLY=($(compgen -c -- \"$word\"))"
	if (words == "@user") return "COMPREPLY=($(compgen -u -- \"$word\"))"
	if (words == "@interface") return "COMPREPLY=($(compgen -W \"$(cd /sys/class/net 2>/dev/null && echo *)\" -- \"$word\"))"
	if (words == "@none") return ":"
	return "COMPREPLY=($(compgen -W " quoted(words) " -- \"$word\"))"
}

function bash(    i, p, n, list, all)
{
	print "# Completion of the shadowsocks programs for bash; made by dist/completions.sh."
	n = split(programs, list, " ")
	for (p = 1; p <= n; p++) {
		print "_" list[p] "()\n{"
		print "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}"
		print "\tCOMPREPLY=()"
		print "\tcase $before in"
		all = ""
		for (i = 1; i <= count; i++) {
			if (of[i] != list[p]) continue
			all = all (letter[i] ? " -" letter[i] : "") (name[i] ? " --" name[i] : "")
			if (argument[i] == "") continue
			print "\t" (letter[i] ? "-" letter[i] : "") (letter[i] && name[i] ? " | " : "") \
				(name[i] ? "--" name[i] : "") ") " bash_words(words_of(argument[i])) "; return ;;"
		}
		print "\tesac"
		print "\tif [[ $word == -* ]]; then"
		print "\t\tCOMPREPLY=($(compgen -W " quoted(substr(all, 2)) " -- \"$word\"))"
		print "\telif [[ $COMP_CWORD -eq 1 ]]; then\n\t\t" bash_words(operands(list[p])) "\n\tfi\n}"
		print "complete -F _" list[p] " " list[p]
	}
	print "complete -W " quoted(programs " --list --install --version --help") " shadowsocks"
}

function zsh_words(words)
{
	if (words == "@file") return "_files"
	if (words == "@directory") return "_files -/"
	if (words == "@command") return "_command_names -e"
	if (words == "@user") return "_users"
	if (words == "@interface") return "_net_interfaces"
	if (words == "@none") return ""
	return "(" words ")"
}

# Brackets, colons and backslashes mean something in a specification.
function zsh_text(text)
{
	gsub(/[\\\[\]:]/, "\\\\&", text)
	return text
}

function zsh_option(i, dashed)
{
	return " \\\n\t\t" quoted("*" dashed "[" zsh_text(help[i]) "]" \
		(argument[i] ? ":" zsh_text(argument[i]) ":" zsh_words(words_of(argument[i])) : ""))
}

function zsh(    i, p, n, list)
{
	print "#compdef " programs " shadowsocks"
	print "# Completion of the shadowsocks programs for zsh; made by dist/completions.sh."
	n = split(programs, list, " ")
	print "case $service in"
	for (p = 1; p <= n; p++) {
		printf "%s)\n\t_arguments -s", list[p]
		for (i = 1; i <= count; i++) {
			if (of[i] != list[p]) continue
			if (letter[i]) printf "%s", zsh_option(i, "-" letter[i])
			if (name[i]) printf "%s", zsh_option(i, "--" name[i])
		}
		if (operands(list[p]) != "@none")
			printf " \\\n\t\t%s", quoted("1: :" zsh_words(operands(list[p])))
		print "\n\t;;"
	}
	print "shadowsocks)\n\t_arguments " quoted("1: :(" programs " --list --install --version --help)") "\n\t;;\nesac"
}

function fish_words(words)
{
	if (words == "@file") return " -r -F"
	if (words == "@directory") return " -x -a " quoted("(__fish_complete_directories)")
	if (words == "@command") return " -x -a " quoted("(__fish_complete_command)")
	if (words == "@user") return " -x -a " quoted("(__fish_complete_users)")
	if (words == "@interface") return " -x -a " quoted("(ls /sys/class/net 2>/dev/null)")
	if (words == "@none") return " -x"
	return " -x -a " quoted(words)
}

function fish(    i, p, n, list, words)
{
	print "# Completion of the shadowsocks programs for fish; made by dist/completions.sh."
	for (i = 1; i <= count; i++)
		print "complete -c " of[i] (letter[i] ? " -s " letter[i] : "") (name[i] ? " -l " name[i] : "") \
			(argument[i] ? fish_words(words_of(argument[i])) : "") " -d " quoted(help[i])
	n = split(programs, list, " ")
	for (p = 1; p <= n; p++) {
		words = operands(list[p])
		if (words != "@file")
			print "complete -c " list[p] " -f" (words == "@none" ? "" : " -n __fish_is_first_arg -a " quoted(words))
	}
	print "complete -c shadowsocks -f -n __fish_is_first_arg -a " quoted(programs)
}

END {
	for (i = 1; i <= count; i++)
		readable[of[i]]++
	if (readable["ss-local"] < 20 || readable["ss-server"] < 20) { # which every build has
		print "completions.sh: the options cannot be read" >"/dev/stderr"
		exit 1
	}
	if (shell == "bash") bash()
	else if (shell == "zsh") zsh()
	else fish()
}'
