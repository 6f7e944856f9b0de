"""What all commands share: options, output, exit codes, and how errors are reported. Imports no command."""
