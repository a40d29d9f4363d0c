# A function whose parameters have types that contain themselves: a typedef of itself, a structure in itself, a pointer to itself, and a type
# that is not in the file.
	.text
	.globl _start
	.type _start, %function
_start:
.Lstart:
	nop
	nop
.Lend:
	.size _start, .-_start

	.section .debug_abbrev,"",%progbits
	# 1: the unit
	.uleb128 1
	.uleb128 0x11
	.byte 1
	.uleb128 0x13, 0x0b		# language, data1
	.uleb128 0x11, 0x01		# low_pc, addr
	.uleb128 0x12, 0x06		# high_pc, data4
	.byte 0, 0
	# 2: the function
	.uleb128 2
	.uleb128 0x2e
	.byte 1
	.uleb128 0x03, 0x08		# name, string
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x06
	.byte 0, 0
	# 3: a parameter
	.uleb128 3
	.uleb128 0x05
	.byte 0
	.uleb128 0x03, 0x08
	.uleb128 0x49, 0x13		# type, ref4
	.byte 0, 0
	# 4: a typedef
	.uleb128 4
	.uleb128 0x16
	.byte 0
	.uleb128 0x03, 0x08
	.uleb128 0x49, 0x13
	.byte 0, 0
	# 5: a structure
	.uleb128 5
	.uleb128 0x13
	.byte 1
	.uleb128 0x03, 0x08
	.uleb128 0x0b, 0x0b		# byte_size, data1
	.byte 0, 0
	# 6: a member
	.uleb128 6
	.uleb128 0x0d
	.byte 0
	.uleb128 0x03, 0x08
	.uleb128 0x49, 0x13
	.uleb128 0x38, 0x0b		# data_member_location, data1
	.byte 0, 0
	# 7: a pointer
	.uleb128 7
	.uleb128 0x0f
	.byte 0
	.uleb128 0x49, 0x13
	.byte 0, 0
	.byte 0

	.section .debug_info,"",%progbits
.Lunit:
	.4byte .Lunit_end - .Lversion
.Lversion:
	.2byte 4
	.4byte 0
	.byte 8
	.uleb128 1
	.byte 0x0c			# C99
	.8byte .Lstart
	.4byte .Lend - .Lstart
	.uleb128 2
	.asciz "_start"
	.8byte .Lstart
	.4byte .Lend - .Lstart
	.uleb128 3
	.asciz "definition"
	.4byte .Ltypedef - .Lunit
	.uleb128 3
	.asciz "structure"
	.4byte .Lstructure - .Lunit
	.uleb128 3
	.asciz "pointer"
	.4byte .Lpointer - .Lunit
	.uleb128 3
	.asciz "nowhere"
	.4byte 0x7fffffff
	.byte 0
.Ltypedef:
	.uleb128 4
	.asciz "itself"
	.4byte .Ltypedef - .Lunit
.Lstructure:
	.uleb128 5
	.asciz "within"
	.byte 8
	.uleb128 6
	.asciz "inner"
	.4byte .Lstructure - .Lunit
	.byte 0
	.byte 0
.Lpointer:
	.uleb128 7
	.4byte .Lpointer - .Lunit
	.byte 0
.Lunit_end:

	.section .debug_line,"",%progbits
	.section .note.GNU-stack,"",%progbits
